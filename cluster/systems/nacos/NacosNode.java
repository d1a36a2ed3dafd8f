import com.alibaba.nacos.NacosServerBasicApplication;
import com.alibaba.nacos.NacosServerWebApplication;
import com.alibaba.nacos.core.listener.startup.NacosStartUp;
import com.alibaba.nacos.core.listener.startup.NacosStartUpManager;
import com.alibaba.nacos.sys.env.Constants;
import com.alibaba.nacos.sys.env.DeploymentType;
import com.alibaba.nacos.sys.env.EnvUtil;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Starts what Nacos' own main class starts, which is in no jar that can be had, without its console. */
public final class NacosNode {
  public static void main(String[] arguments) throws Exception {
    EnvUtil.setDeploymentType(DeploymentType.getType(Constants.NACOS_DEPLOYMENT_TYPE_SERVER));
    NacosStartUpManager.start(NacosStartUp.CORE_START_UP_PHASE);
    ConfigurableApplicationContext core =
        new SpringApplicationBuilder(NacosServerBasicApplication.class).web(WebApplicationType.NONE).run(arguments);
    NacosStartUpManager.start(NacosStartUp.WEB_START_UP_PHASE);
    new SpringApplicationBuilder(NacosServerWebApplication.class).parent(core).run(arguments);
  }
}
